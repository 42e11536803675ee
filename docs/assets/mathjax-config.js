window.MathJax = {
  tex: {
    inlineMath: [["\\(", "\\)"]],
    displayMath: [["\\[", "\\]"]],
    processEscapes: true,
  },
  svg: { fontCache: "local" },
  options: { ignoreHtmlClass: ".*|", processHtmlClass: "arithmatex" },
};

"""Measures: what a release loses and what it reveals."""

from kanopy.measures.disclosure import (
    closeness_utility,
    distinct_diversity,
    entropy_diversity,
    mt_closeness,
    t_closeness,
)
from kanopy.measures.earth_movers import emd
from kanopy.measures.generalisation import (
    gcp,
    generalisation_loss,
    height_loss,
    ncp,
    ncp_hierarchy,
    ncp_range,
    ncp_values,
    total_gcp,
    total_information_loss,
)
from kanopy.measures.linkage import linkage_nominal, linkage_numeric
from kanopy.measures.nominal import (
    TableErrors,
    allowed_extra_error,
    confidentiality_problems,
    deviation,
    hamming_pair_sum,
    maximum_error,
    table_errors,
)
from kanopy.measures.numeric import information_loss, sse, sse_of_partition, sst
from kanopy.measures.sizes import anonymity_level, average_class_size, discernability

__all__ = [
    "TableErrors",
    "allowed_extra_error",
    "anonymity_level",
    "average_class_size",
    "closeness_utility",
    "confidentiality_problems",
    "deviation",
    "discernability",
    "distinct_diversity",
    "emd",
    "entropy_diversity",
    "gcp",
    "generalisation_loss",
    "hamming_pair_sum",
    "height_loss",
    "information_loss",
    "linkage_nominal",
    "linkage_numeric",
    "maximum_error",
    "mt_closeness",
    "ncp",
    "ncp_hierarchy",
    "ncp_range",
    "ncp_values",
    "sse",
    "sse_of_partition",
    "sst",
    "t_closeness",
    "table_errors",
    "total_gcp",
    "total_information_loss",
]

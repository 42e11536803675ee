"""Methods: what turns an instance into a k-anonymous solution."""

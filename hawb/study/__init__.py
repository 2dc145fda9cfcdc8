"""Studies at scale: designs × environments × trials on Apache Spark, with the rules of `hawb.rules` and no others."""

"""Tests have the kernel of each notebook run this first, so that it uses the Spark that is already running.

See `notebooks_java`. Spark's Python workers have imported hawb and loaded its compiled kernel by then.
"""

from pyspark import SparkContext

SparkContext._initialize_context = lambda self, _jconf: self._jvm.JavaSparkContext.fromSparkContext(
    getattr(getattr(self._jvm.org.apache.spark, "SparkContext$"), "MODULE$").getActive().get()
)
del SparkContext

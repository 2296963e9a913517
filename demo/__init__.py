"""`make demo`: from a lake of files to a graph that is loaded on Spark, asked, branched, exported and merged."""

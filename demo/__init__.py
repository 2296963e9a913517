"""`make demo`: from a lake of files to a graph that was loaded on Spark, asked, branched and exported."""

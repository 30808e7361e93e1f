// Gives a stage without sources of its own an object to archive.

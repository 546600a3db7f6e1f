from edgerun.runtime import queue_handler

handler = queue_handler("stream")

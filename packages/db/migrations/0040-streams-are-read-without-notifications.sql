-- PostgreSQL lets transactions with a notification commit one after the other. Each step of a deployment had some. Processes with open
-- streams now read 20 times a second; those of the version before read each second.
drop trigger notify_stream on stream_event;

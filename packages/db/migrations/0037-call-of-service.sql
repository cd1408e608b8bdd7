-- A waiting request takes in the services of later calls of the same actor and action. `call_id` says which call asked for the service: a
-- failure ends what the same call asked for, and nothing else. null: the request is older than this column; its services are one call.
ALTER TABLE deployment_service ADD COLUMN call_id uuid;

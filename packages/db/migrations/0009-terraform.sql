-- The values of a Helm chart may come from a repository of their own, with a token of its own.
create index service_values_git_token on service ((spec #>> '{values_override,file,git,git_repository,git_token_id}')) where type = 'HELM';

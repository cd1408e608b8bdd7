-- A git token is for hosts and is sent to no other. Those of a host with a known API are derived from that; a token of another host
-- is for the host that it was first used with. Tokens from before are for the hosts of all services that use them.
alter table git_token add column hosts text[] not null default '{}';

with uses as (
  select repository ->> 'git_token_id' as token, lower(substring(repository ->> 'url' from '^https?://(?:[^/@]*@)?([^/:?#]+)')) as host
    from service, lateral (values (service.spec -> 'git_repository'),
                                  (service.spec #> '{values_override,file,git,git_repository}')) as place (repository)
  union all
  select lower(cluster.spec #>> '{infrastructure_charts_parameters,eks_anywhere_parameters,git_repository,git_token_id}'),
         lower(substring(cluster.spec #>> '{infrastructure_charts_parameters,eks_anywhere_parameters,git_repository,url}'
                         from '^https?://(?:[^/@]*@)?([^/:?#]+)'))
    from cluster
)
update git_token
   set hosts = found.hosts
  from (select token, array_agg(distinct host) as hosts from uses where host is not null group by token) as found
 where git_token.type = 'GENERIC' and coalesce(git_token.git_api_url, '') = '' and found.token = git_token.id::text;

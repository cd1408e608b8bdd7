-- Until now a step that was under way when its runner was killed stayed RUNNING if its service was canceled or failed without it.
-- Nobody waits for news of these deployments.
alter table deployment_step disable trigger tell_step;
update deployment_step p
   set status = case s.phase when 'CANCELED' then 'CANCELED' else 'FAILED' end, finished_at = coalesce(s.finished_at, d.finished_at)
  from deployment_service s join deployment d on d.id = s.deployment_id
 where p.status = 'RUNNING' and s.deployment_id = p.deployment_id and s.service_id = p.service_id
   and d.status not in ('QUEUED', 'RUNNING');
alter table deployment_step enable trigger tell_step;

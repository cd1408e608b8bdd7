import { Client } from 'pg';

export interface Filled {
  readonly applicationIds: readonly string[];
  readonly environmentIds: readonly string[];
}

export const servicesPerEnvironment = 20;

/*
 * Copies an environment with one application that was deployed and stopped. The rows are those that Davit itself
 * writes, with the history of their deployment. `jsonb_populate_record` keeps all columns that are not overwritten, so
 * a new column needs no change here.
 */
const copies = `
  create temp table origin as
    select e.id as environment_id, e.project_id, e.organization_id, s.id as service_id, s.stage_id,
           (select id from release r where r.service_id = s.id limit 1) as release_id,
           (select id from deployment d where d.environment_id = e.id and d.action = 'DEPLOY' limit 1) as deployment_id
      from environment e join service s on s.environment_id = e.id where e.id = $ENVIRONMENT;
  create temp table new_project as
    select gen_random_uuid() as id, n from generate_series(0, ($COUNT - 1) / 10) n;
  create temp table new_environment as
    select gen_random_uuid() as id, gen_random_uuid() as stage_id, gen_random_uuid() as deployment_id, p.id as project_id, e.n
      from generate_series(0, $COUNT - 1) as e(n) join new_project p on p.n = e.n / 10;
  create temp table new_service as
    select gen_random_uuid() as id, gen_random_uuid() as release_id, gen_random_uuid() as rollout, k as n, e.id as environment_id,
           e.project_id, e.stage_id, e.deployment_id
      from new_environment e cross join generate_series(1, $SERVICES) k;
  analyze new_service;

  insert into project select (jsonb_populate_record(p, jsonb_build_object('id', n.id, 'name', 'copy ' || n.n))).*
    from new_project n cross join project p where p.id = (select project_id from origin);
  insert into environment select (jsonb_populate_record(e, jsonb_build_object(
      'id', n.id, 'project_id', n.project_id, 'name', 'copy ' || n.n))).*
    from new_environment n cross join environment e where e.id = (select environment_id from origin);
  insert into deployment_stage select (jsonb_populate_record(s, jsonb_build_object('id', n.stage_id, 'environment_id', n.id))).*
    from new_environment n cross join deployment_stage s where s.id = (select stage_id from origin);
  insert into service select (jsonb_populate_record(s, jsonb_build_object(
      'id', n.id, 'project_id', n.project_id, 'environment_id', n.environment_id, 'stage_id', n.stage_id,
      'stage_entry_id', gen_random_uuid(), 'name', 'copy ' || n.n))).*
    from new_service n cross join service s where s.id = (select service_id from origin);
  insert into variable select (jsonb_populate_record(v, jsonb_build_object('id', gen_random_uuid(), 'service_id', n.id))).*
    from new_service n cross join variable v where v.service_id = (select service_id from origin);
  insert into release select (jsonb_populate_record(r, jsonb_build_object(
      'id', n.release_id, 'environment_id', n.environment_id, 'service_id', n.id))).*
    from new_service n cross join release r where r.id = (select release_id from origin);
  insert into deployment overriding user value select (jsonb_populate_record(d, jsonb_build_object(
      'id', n.deployment_id, 'project_id', n.project_id, 'environment_id', n.id))).*
    from new_environment n cross join deployment d where d.id = (select deployment_id from origin);
  insert into deployment_service select (jsonb_populate_record(d, jsonb_build_object(
      'deployment_id', n.deployment_id, 'service_id', n.id, 'release_id', n.release_id, 'rollout', n.rollout,
      'stage_id', n.stage_id, 'service_name', 'copy ' || n.n))).*
    from new_service n cross join deployment_service d where d.deployment_id = (select deployment_id from origin);
  insert into deployment_step select (jsonb_populate_record(d, jsonb_build_object(
      'deployment_id', n.deployment_id, 'service_id', n.id))).*
    from new_service n cross join deployment_step d where d.deployment_id = (select deployment_id from origin);
  insert into service_runtime select (jsonb_populate_record(t, jsonb_build_object(
      'service_id', n.id, 'project_id', n.project_id, 'environment_id', n.environment_id, 'release_id', n.release_id,
      'rollout', n.rollout))).*
    from new_service n cross join service_runtime t where t.service_id = (select service_id from origin);
`;

/**
 * Fills a database with copies of an environment; returns some of the copies, spread over the tables. `services`: the
 * services of each environment.
 */
export async function fill(
  address: string,
  environmentId: string,
  environments: number,
  services = servicesPerEnvironment,
): Promise<Filled> {
  const sql = new Client({ connectionString: address });
  await sql.connect();
  try {
    const text = copies
      .replaceAll('$ENVIRONMENT', `'${environmentId}'`)
      .replaceAll('$COUNT', String(environments))
      .replaceAll('$SERVICES', String(services));
    await sql.query(text);
    const sample = async (query: string): Promise<string[]> => (await sql.query<{ id: string }>(query)).rows.map(({ id }) => id);
    const applicationIds = await sample('select id from new_service order by random() limit 1000');
    const environmentIds = await sample('select id from new_environment order by random() limit 100');
    // Vacuums now, as otherwise autovacuum runs during the measurement.
    await sql.query('vacuum (analyze, freeze)');
    await sql.query('checkpoint');
    return { applicationIds, environmentIds };
  } finally {
    await sql.end();
  }
}

import { statement } from '@davit/db';

export interface StageServiceRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly service_id: string;
  readonly service_type: string;
  readonly is_skipped: boolean;
}

export interface StageRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly environment_id: string;
  readonly name: string;
  readonly description: string;
  readonly position: number;
  readonly services: StageServiceRow[];
}

// jsonb has no timestamp type, so the text is created here, in the same form as other timestamps.
const columns = `stage.id, stage.created_at, stage.updated_at, stage.environment_id, stage.name, stage.description, stage.position,
  coalesce((
    select jsonb_agg(jsonb_build_object(
             'id', service.stage_entry_id,
             'created_at', to_char(service.stage_entered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
             'updated_at', to_char(service.stage_entry_updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
             'service_id', service.id, 'service_type', service.type, 'is_skipped', service.is_skipped)
             order by service.stage_entered_at, service.id)
      from service where service.stage_id = stage.id), '[]') as services`;

export const stageRead = statement<StageRow>(
  'stage_read',
  `select ${columns} from deployment_stage as stage where stage.id = $1 and ($2::uuid is null or stage.organization_id = $2)`,
);

export const stageList = statement<StageRow>(
  'stage_list',
  `select ${columns} from deployment_stage as stage
    where stage.environment_id = $1 and ($2::uuid is null or stage.organization_id = $2) order by stage.position`,
);

export const stageOfService = statement<StageRow>(
  'stage_of_service',
  `select ${columns} from service as held join deployment_stage as stage on stage.id = held.stage_id
    where held.id = $1 and ($2::uuid is null or held.organization_id = $2)`,
);

/** Appends a stage. The environment is locked, so that no two stages get the same position. */
export const stageCreate = statement(
  'stage_create',
  `insert into deployment_stage (id, organization_id, environment_id, name, description, position)
   select $1, $2, $3, $4, $5, coalesce(max(position) + 1, 0) from deployment_stage where environment_id = $3`,
);

/** Parameter `$5`: whether the description is changed to `$4`. */
export const stageEdit = statement(
  'stage_edit',
  `update deployment_stage
      set name = $3, description = case when $5 then $4 else description end, updated_at = clock_timestamp()
    where id = $1 and ($2::uuid is null or organization_id = $2)`,
);

export const stageDelete = statement('stage_delete', 'delete from deployment_stage where id = $1');

export const stageCount = statement<{ count: number }>(
  'stage_count',
  'select count(*) from deployment_stage where environment_id = $1',
);

/**
 * Numbers the stages of an environment from 0. Stage `$2` is placed next to stage `$3`: `$4` is half a position, and
 * its sign selects the side. If both are null, only gaps are closed.
 */
export const stageRenumber = statement(
  'stage_renumber',
  `update deployment_stage as stage set position = wanted.position, updated_at = clock_timestamp()
     from (
       select id, row_number() over (
                order by case when id = $2 then (select position + $4::float8 from deployment_stage where id = $3) else position end
              ) - 1 as position
         from deployment_stage where environment_id = $1
     ) as wanted
    where stage.id = wanted.id and stage.position <> wanted.position`,
);

/** Creates a new stage entry if the stage changes. The flag is set to the value of the request. */
export const serviceAttach = statement(
  'stage_attach_service',
  `update service
      set stage_entry_id = case when stage_id = $2 then stage_entry_id else gen_random_uuid() end,
          stage_entered_at = case when stage_id = $2 then stage_entered_at else clock_timestamp() end,
          stage_entry_updated_at = case when stage_id = $2 and is_skipped = $4 then stage_entry_updated_at else clock_timestamp() end,
          stage_id = $2, is_skipped = $4
    where id = $1 and environment_id = $3`,
);

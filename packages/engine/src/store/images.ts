import { statement } from '@davit/db';

/*
 * Statements that decide which built images are removed. An image is kept if it belongs to:
 *
 * - one of the newest releases of a service,
 * - the release that should run,
 * - a release whose instances may still exist, because a deployment that has not ended names it,
 * - a release of a queued deployment.
 */

/**
 * Gives up the built images of old releases. Parameters: service, number of releases to keep. A release that loses its
 * built image cannot run again. For pulled images see `giveUpPulled`.
 */
export const giveUpImages = statement(
  'give_up_images',
  `with ranked as (
     select id, image_id, row_number() over (order by created_at desc, id) as age from release
      where service_id = $1 and image_id is not null and config -> 'source' ->> 'type' = 'GIT'
   ), kept as (
     select id, image_id from ranked where age <= $2
     union all
     select r.id, r.image_id from release r join service_runtime t on t.release_id = r.id where t.service_id = $1
     union all
     select r.id, r.image_id from release r join deployment_service s on s.release_id = r.id
       join deployment d on d.id = s.deployment_id
      where s.service_id = $1 and d.status in ('QUEUED', 'RUNNING')
   )
   update release set image_id = null, collected_image = image_id
    where id in (select id from ranked where image_id not in (select image_id from kept where image_id is not null))`,
);

/**
 * Returns the images that the engine must still remove, including those whose earlier removal failed. Parameter:
 * service.
 */
export const collectedImages = statement<{ image: string }>(
  'collected_images',
  `select distinct collected_image as image from release r where service_id = $1 and collected_image is not null
      and not exists (select from release k where k.service_id = $1 and k.image_id = r.collected_image)`,
);

/** Parameters: service, images. */
export const forgetImages = statement(
  'forget_images',
  'update release set collected_image = null where service_id = $1 and collected_image = any ($2::text[])',
);

// A service that is on no cluster may have left images on every cluster.
const isOn = (driver: string): string =>
  `not exists (select from service_runtime t where t.service_id = r.service_id and t.driver <> ${driver})`;

/** Returns services of a cluster whose given-up built images may still exist there. Parameter: driver. */
export const servicesToCollect = statement<{ service_id: string }>(
  'services_to_collect_images_of',
  `select distinct service_id from release r where collected_image is not null and ${isOn('$1')}`,
);

/**
 * Returns services of a cluster that have more than $1 built images and no queued or running deployment. Parameters:
 * number of images, driver.
 */
export const servicesWithImages = statement<{ service_id: string }>(
  'services_with_images',
  `select service_id from release r where image_id is not null and config -> 'source' ->> 'type' = 'GIT'
      and not exists (select from deployment_service s join deployment d on d.id = s.deployment_id
                       where s.service_id = r.service_id and d.status in ('QUEUED', 'RUNNING'))
      and ${isOn('$2')}
    group by service_id having count(distinct image_id) > $1`,
);

export const busyServices = statement<{ service_id: string }>(
  'busy_services',
  `select distinct s.service_id from deployment_service s join deployment d on d.id = s.deployment_id
    where d.status in ('QUEUED', 'RUNNING')`,
);

/**
 * Records an image that did not exist before Davit pulled it. Parameters: driver, image, names that the pull created.
 */
export const notePulled = statement(
  'note_pulled_image',
  `insert into pulled_image (driver, image_id, names) values ($1, $2, $3::text[])
   on conflict (driver, image_id) do update set pulled_at = clock_timestamp(),
     names = (select coalesce(array_agg(distinct name), '{}') from unnest(pulled_image.names || excluded.names) as name)`,
);

/**
 * Records the pull of an image that already existed. If Davit had pulled the image before, the image counts as needed
 * again; otherwise it remains foreign. Parameters: driver, image, names that the pull created.
 */
export const keepPulled = statement(
  'keep_pulled_image',
  `update pulled_image set pulled_at = clock_timestamp(),
     names = (select coalesce(array_agg(distinct name), '{}') from unnest(names || $3::text[]) as name)
    where driver = $1 and image_id = $2`,
);

export const pulledImages = statement<{ image_id: string; names: readonly string[] }>(
  'pulled_images',
  'select image_id, names from pulled_image where driver = $1',
);

/** Returns the images pulled within the last $2 milliseconds. Parameters: driver, milliseconds. */
export const youngPulls = statement<{ image_id: string }>(
  'young_pulled_images',
  `select image_id from pulled_image where driver = $1 and pulled_at > clock_timestamp() - make_interval(secs => $2::float8 / 1000)`,
);

export const forgetPulled = statement('forget_pulled_image', 'delete from pulled_image where driver = $1 and image_id = $2');

export interface ImageUseRow {
  readonly image_id: string;
  readonly image_name: string | null;
  /** Position of the release among the releases of its service that have an image; the newest is 1. */
  readonly age: number;
  /** Whether the release should run or ran last, or is needed by a queued or running deployment or a running job. */
  readonly runs: boolean;
}

const inUse = `exists (select from service_runtime t where t.release_id = r.id)
  or exists (select from job_run j where j.release_id = r.id and j.status = 'RUNNING')
  or exists (select from deployment_service s join deployment d on d.id = s.deployment_id
              where s.release_id = r.id and d.status in ('QUEUED', 'RUNNING'))`;

/**
 * Returns the releases that need these images, and the newest releases that were built under these names to run on
 * another cluster. Parameters: images, their names.
 */
export const imageUses = statement<ImageUseRow>(
  'image_uses',
  `with concerned as (select distinct service_id from release where image_id = any ($1::text[]) or image_name = any ($2::text[])),
        ranked as (select r.id, r.image_id, r.image_name, row_number() over (partition by r.service_id order by r.created_at desc, r.id) as age
                     from release r join concerned u on u.service_id = r.service_id where r.image_id is not null)
   select r.image_id, r.image_name, r.age::integer as age, (${inUse}) as runs from ranked r
    where r.image_id = any ($1::text[]) or (r.age = 1 and r.image_name = any ($2::text[]))`,
);

/**
 * Takes a pulled image from the releases that nothing runs. A rollback to one of them pulls the image again. Parameter:
 * image.
 */
export const giveUpPulled = statement(
  'give_up_pulled_image',
  `update release r set image_id = null where image_id = $1 and config -> 'source' ->> 'type' = 'IMAGE' and not (${inUse})`,
);

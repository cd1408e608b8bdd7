import { statement } from '@davit/db';

/*
 * Which built images go. Kept are those of the newest releases of a service, of the one that is to run, of the ones whose
 * instances may still be there (a deployment that has not ended names them) and of what waits in the queue.
 */

/** Service, how many releases are kept. Releases that lose their image can be run no more. Pulled images: `giveUpPulled`. */
export const giveUpImages = statement(
  'giveUpImages',
  `WITH ranked AS (
     SELECT id, image_id, row_number() OVER (ORDER BY created_at DESC, id) AS age FROM release
      WHERE service_id = $1 AND image_id IS NOT NULL AND config -> 'source' ->> 'type' = 'GIT'
   ), kept AS (
     SELECT id, image_id FROM ranked WHERE age <= $2
     UNION ALL
     SELECT r.id, r.image_id FROM release r JOIN service_runtime t ON t.release_id = r.id WHERE t.service_id = $1
     UNION ALL
     SELECT r.id, r.image_id FROM release r JOIN deployment_service s ON s.release_id = r.id
       JOIN deployment d ON d.id = s.deployment_id
      WHERE s.service_id = $1 AND d.status IN ('QUEUED', 'RUNNING')
   )
   UPDATE release SET image_id = NULL, collected_image = image_id
    WHERE id IN (SELECT id FROM ranked WHERE image_id NOT IN (SELECT image_id FROM kept WHERE image_id IS NOT NULL))`,
);

/** Service. What the engine has still to remove, also from an earlier time when that did not work. */
export const collectedImages = statement<{ image: string }>(
  'collectedImages',
  `SELECT DISTINCT collected_image AS image FROM release r WHERE service_id = $1 AND collected_image IS NOT NULL
      AND NOT EXISTS (SELECT FROM release k WHERE k.service_id = $1 AND k.image_id = r.collected_image)`,
);

/** Service, images. */
export const forgetImages = statement(
  'forgetImages',
  'UPDATE release SET collected_image = NULL WHERE service_id = $1 AND collected_image = ANY ($2::text[])',
);

// A service that is on no cluster may have left images on any.
const isOn = (driver: string): string =>
  `NOT EXISTS (SELECT FROM service_runtime t WHERE t.service_id = r.service_id AND t.driver <> ${driver})`;

/** Driver: services of it with built images that are given up and may still be there. */
export const servicesToCollect = statement<{ service_id: string }>(
  'servicesToCollectImagesOf',
  `SELECT DISTINCT service_id FROM release r WHERE collected_image IS NOT NULL AND ${isOn('$1')}`,
);

/** How many, driver: services of it with more built images than that, and no deployment under way. */
export const servicesWithImages = statement<{ service_id: string }>(
  'servicesWithImages',
  `SELECT service_id FROM release r WHERE image_id IS NOT NULL AND config -> 'source' ->> 'type' = 'GIT'
      AND NOT EXISTS (SELECT FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
                       WHERE s.service_id = r.service_id AND d.status IN ('QUEUED', 'RUNNING'))
      AND ${isOn('$2')}
    GROUP BY service_id HAVING count(DISTINCT image_id) > $1`,
);

export const busyServices = statement<{ service_id: string }>(
  'busyServices',
  `SELECT DISTINCT s.service_id FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
    WHERE d.status IN ('QUEUED', 'RUNNING')`,
);

/** Driver, image, names that the pull made, of an image that was not there before. */
export const notePulled = statement(
  'notePulledImage',
  `INSERT INTO pulled_image (driver, image_id, names) VALUES ($1, $2, $3::text[])
   ON CONFLICT (driver, image_id) DO UPDATE SET pulled_at = clock_timestamp(),
     names = (SELECT coalesce(array_agg(DISTINCT name), '{}') FROM unnest(pulled_image.names || excluded.names) AS name)`,
);

/** The same for an image that was there: if Davit pulled it then, it is wanted again; otherwise it stays somebody else's. */
export const keepPulled = statement(
  'keepPulledImage',
  `UPDATE pulled_image SET pulled_at = clock_timestamp(),
     names = (SELECT coalesce(array_agg(DISTINCT name), '{}') FROM unnest(names || $3::text[]) AS name)
    WHERE driver = $1 AND image_id = $2`,
);

export const pulledImages = statement<{ image_id: string; names: readonly string[] }>(
  'pulledImages',
  'SELECT image_id, names FROM pulled_image WHERE driver = $1',
);

/** Driver, milliseconds: pulled since then. */
export const youngPulls = statement<{ image_id: string }>(
  'youngPulledImages',
  `SELECT image_id FROM pulled_image WHERE driver = $1 AND pulled_at > clock_timestamp() - make_interval(secs => $2::float8 / 1000)`,
);

export const forgetPulled = statement('forgetPulledImage', 'DELETE FROM pulled_image WHERE driver = $1 AND image_id = $2');

export interface ImageUseRow {
  readonly image_id: string;
  readonly image_name: string | null;
  /** Place of the release among those of its service that have an image, the newest being 1. */
  readonly age: number;
  /** It is what should run or ran last, what a deployment under way is about, or what a run of a job has. */
  readonly runs: boolean;
}

const inUse = `EXISTS (SELECT FROM service_runtime t WHERE t.release_id = r.id)
  OR EXISTS (SELECT FROM job_run j WHERE j.release_id = r.id AND j.status = 'RUNNING')
  OR EXISTS (SELECT FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
              WHERE s.release_id = r.id AND d.status IN ('QUEUED', 'RUNNING'))`;

/** Images, their names. What releases need them, and the newest of services that were built under such a name to be run elsewhere. */
export const imageUses = statement<ImageUseRow>(
  'imageUses',
  `WITH concerned AS (SELECT DISTINCT service_id FROM release WHERE image_id = ANY ($1::text[]) OR image_name = ANY ($2::text[])),
        ranked AS (SELECT r.id, r.image_id, r.image_name, row_number() OVER (PARTITION BY r.service_id ORDER BY r.created_at DESC, r.id) AS age
                     FROM release r JOIN concerned u ON u.service_id = r.service_id WHERE r.image_id IS NOT NULL)
   SELECT r.image_id, r.image_name, r.age::integer AS age, (${inUse}) AS runs FROM ranked r
    WHERE r.image_id = ANY ($1::text[]) OR (r.age = 1 AND r.image_name = ANY ($2::text[]))`,
);

/** Image. Releases that nothing runs lose it, and pull it again when they are rolled back to. */
export const giveUpPulled = statement(
  'giveUpPulledImage',
  `UPDATE release r SET image_id = NULL WHERE image_id = $1 AND config -> 'source' ->> 'type' = 'IMAGE' AND NOT (${inUse})`,
);

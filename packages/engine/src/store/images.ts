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

/**
 * Returns the images that the engine must still remove, including those whose earlier removal failed. Parameter:
 * service.
 */
export const collectedImages = statement<{ image: string }>(
  'collectedImages',
  `SELECT DISTINCT collected_image AS image FROM release r WHERE service_id = $1 AND collected_image IS NOT NULL
      AND NOT EXISTS (SELECT FROM release k WHERE k.service_id = $1 AND k.image_id = r.collected_image)`,
);

/** Parameters: service, images. */
export const forgetImages = statement(
  'forgetImages',
  'UPDATE release SET collected_image = NULL WHERE service_id = $1 AND collected_image = ANY ($2::text[])',
);

// A service that is on no cluster may have left images on every cluster.
const isOn = (driver: string): string =>
  `NOT EXISTS (SELECT FROM service_runtime t WHERE t.service_id = r.service_id AND t.driver <> ${driver})`;

/** Returns services of a cluster whose given-up built images may still exist there. Parameter: driver. */
export const servicesToCollect = statement<{ service_id: string }>(
  'servicesToCollectImagesOf',
  `SELECT DISTINCT service_id FROM release r WHERE collected_image IS NOT NULL AND ${isOn('$1')}`,
);

/**
 * Returns services of a cluster that have more than $1 built images and no queued or running deployment. Parameters:
 * number of images, driver.
 */
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

/**
 * Records an image that did not exist before Davit pulled it. Parameters: driver, image, names that the pull created.
 */
export const notePulled = statement(
  'notePulledImage',
  `INSERT INTO pulled_image (driver, image_id, names) VALUES ($1, $2, $3::text[])
   ON CONFLICT (driver, image_id) DO UPDATE SET pulled_at = clock_timestamp(),
     names = (SELECT coalesce(array_agg(DISTINCT name), '{}') FROM unnest(pulled_image.names || excluded.names) AS name)`,
);

/**
 * Records the pull of an image that already existed. If Davit had pulled the image before, the image counts as needed
 * again; otherwise it remains foreign. Parameters: driver, image, names that the pull created.
 */
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

/** Returns the images pulled within the last $2 milliseconds. Parameters: driver, milliseconds. */
export const youngPulls = statement<{ image_id: string }>(
  'youngPulledImages',
  `SELECT image_id FROM pulled_image WHERE driver = $1 AND pulled_at > clock_timestamp() - make_interval(secs => $2::float8 / 1000)`,
);

export const forgetPulled = statement('forgetPulledImage', 'DELETE FROM pulled_image WHERE driver = $1 AND image_id = $2');

export interface ImageUseRow {
  readonly image_id: string;
  readonly image_name: string | null;
  /** Position of the release among the releases of its service that have an image; the newest is 1. */
  readonly age: number;
  /** Whether the release should run or ran last, or is needed by a queued or running deployment or a running job. */
  readonly runs: boolean;
}

const inUse = `EXISTS (SELECT FROM service_runtime t WHERE t.release_id = r.id)
  OR EXISTS (SELECT FROM job_run j WHERE j.release_id = r.id AND j.status = 'RUNNING')
  OR EXISTS (SELECT FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
              WHERE s.release_id = r.id AND d.status IN ('QUEUED', 'RUNNING'))`;

/**
 * Returns the releases that need these images, and the newest releases that were built under these names to run on
 * another cluster. Parameters: images, their names.
 */
export const imageUses = statement<ImageUseRow>(
  'imageUses',
  `WITH concerned AS (SELECT DISTINCT service_id FROM release WHERE image_id = ANY ($1::text[]) OR image_name = ANY ($2::text[])),
        ranked AS (SELECT r.id, r.image_id, r.image_name, row_number() OVER (PARTITION BY r.service_id ORDER BY r.created_at DESC, r.id) AS age
                     FROM release r JOIN concerned u ON u.service_id = r.service_id WHERE r.image_id IS NOT NULL)
   SELECT r.image_id, r.image_name, r.age::integer AS age, (${inUse}) AS runs FROM ranked r
    WHERE r.image_id = ANY ($1::text[]) OR (r.age = 1 AND r.image_name = ANY ($2::text[]))`,
);

/**
 * Takes a pulled image from the releases that nothing runs. A rollback to one of them pulls the image again. Parameter:
 * image.
 */
export const giveUpPulled = statement(
  'giveUpPulledImage',
  `UPDATE release r SET image_id = NULL WHERE image_id = $1 AND config -> 'source' ->> 'type' = 'IMAGE' AND NOT (${inUse})`,
);

import { statement } from '@davit/db';

/*
 * Which built images go. Kept are those of the newest releases of a service, of the one that is to run, of the ones whose
 * instances may still be there (a deployment that has not ended names them) and of what waits in the queue.
 */

/** Service, how many releases are kept. Releases that lose their image can be run no more. Pulled images are not Davit's to remove. */
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

import type { ReleaseConfig } from '../model.ts';
import { changedFields, fieldsOf, type ReleaseField } from './fields.ts';

/**
 * Returns the paths of the settings that differ between two configurations, sorted; none for a first deployment.
 * Values are left out because they may be secret.
 */
export function changesBetween(former: ReleaseConfig | null, next: ReleaseConfig): string[] {
  if (former === null) return [];
  const paths = changedFields(fieldsIn(former), fieldsIn(next)).map(({ path }) => path);
  // A port that was removed and added again has a new id, which is no setting, and its instances are replaced.
  return paths.length === 0 && idsOf(former) !== idsOf(next) ? ['ports'] : paths;
}

function fieldsIn(config: ReleaseConfig): readonly ReleaseField[] {
  return fieldsOf({ config, commit: null, imageId: null });
}

function idsOf({ ports }: ReleaseConfig): string {
  return ports.map(({ id }) => id).join(' ');
}

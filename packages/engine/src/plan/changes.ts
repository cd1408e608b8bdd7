import type { ReleaseConfig } from '../model.ts';
import { changedFields, fieldsOf, type ReleaseField } from './fields.ts';

/**
 * Returns the paths of the settings that differ between two configurations, sorted; none for a first deployment.
 * Values are left out because they may be secret.
 */
export function changesBetween(former: ReleaseConfig | null, next: ReleaseConfig): string[] {
  if (former === null) return [];
  return changedFields(fieldsIn(former), fieldsIn(next)).map(({ path }) => path);
}

function fieldsIn(config: ReleaseConfig): readonly ReleaseField[] {
  return fieldsOf({ config, commit: null, imageId: null });
}

import type { Ownership } from '@davit/drivers';

/** The ids of a service and of what it belongs to, as rows contain them. */
interface OwnedRow {
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  readonly service_id: string;
}

/** Returns the owner of what is on a cluster of a service, from a row. */
export function ownerOf({ settings }: { readonly settings: { readonly installation: string } }, row: OwnedRow): Ownership {
  return {
    installation: settings.installation,
    organization: row.organization_id,
    project: row.project_id,
    environment: row.environment_id,
    service: row.service_id,
  };
}

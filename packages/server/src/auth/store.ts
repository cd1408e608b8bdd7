import type { Scope } from '@davit/contract';
import { statement } from '@davit/db';

export interface TokenRow {
  readonly id: string;
  readonly organization_id: string | null;
  readonly name: string;
  readonly scope: Scope;
  readonly expires_at: string | null;
}

export const tokenByHash = statement<TokenRow>(
  'token_by_hash',
  'select id, organization_id, name, scope, expires_at from api_token where token_hash = $1',
);

interface PlaceRow {
  readonly organization_id: string;
}

/** Whose a resource is. Only asked when a scope does not suffice, to choose between 403 and 404. */
export const organizationOf = {
  organization: statement<PlaceRow>('place_of_organization', 'select id as organization_id from organization where id = $1'),
  project: statement<PlaceRow>('place_of_project', 'select organization_id from project where id = $1'),
  environment: statement<PlaceRow>('place_of_environment', 'select organization_id from environment where id = $1'),
  cluster: statement<PlaceRow>('place_of_cluster', 'select organization_id from cluster where id = $1'),
  service: statement<PlaceRow>('place_of_service', 'select organization_id from service where id = $1'),
  deploymentStage: statement<PlaceRow>('place_of_stage', 'select organization_id from deployment_stage where id = $1'),
  variable: statement<PlaceRow>('place_of_variable', 'select organization_id from variable where id = $1'),
} as const;

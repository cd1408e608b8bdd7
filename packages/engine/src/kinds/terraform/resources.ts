import { redactor } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { TerraformResource } from '@davit/drivers';
import type { EngineHooks, EnginePort } from '../../port.ts';
import { readResources } from '../../store/terraform.ts';

/** Reads the resources that the step `settle` recorded. */
export async function readTerraformResources(
  db: Queryable,
  hooks: Pick<EngineHooks, 'open'>,
  serviceId: string,
): ReturnType<EnginePort['terraformResources']> {
  const row = await db.maybe(readResources, [serviceId]);
  if (row === undefined) return null;
  const resources: readonly TerraformResource[] = JSON.parse(hooks.open(serviceId, row.sealed));
  return { resources, extractedAt: row.extracted_at };
}

/** Removes attributes that contain one of these secrets. Terraform itself need not know that they are secret. */
export async function withoutSecrets(
  resources: readonly TerraformResource[],
  secrets: Iterable<string>,
): Promise<TerraformResource[]> {
  const redact = await redactor(secrets);
  const isOpen = (value: unknown): boolean => {
    if (typeof value === 'string') return redact(value) === value;
    if (typeof value !== 'object' || value === null) return true;
    return Object.entries(value).every(([name, one]) => redact(name) === name && isOpen(one));
  };
  return resources.map((resource) => ({
    ...resource,
    attributes: Object.fromEntries(Object.entries(resource.attributes).filter(([, value]) => isOpen(value))),
  }));
}

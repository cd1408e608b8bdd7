import type { Instance, Ownership } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';

/** Points the address that a service has inside its environment at these instances, on clusters with `addresses`. */
export async function pointAddress(
  parts: Pick<EngineParts, 'drivers'>,
  driver: string,
  to: { readonly owner: Ownership; readonly config: ReleaseConfig; readonly instances: readonly Instance[] },
  signal: AbortSignal,
): Promise<void> {
  const { owner, config, instances } = to;
  await driversOf(parts, driver).cluster.addresses?.point([{ owner, hostnames: config.hostnames, instances }], signal);
}

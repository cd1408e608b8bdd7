import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '@davit/db';
import type { ServiceOutput } from '@davit/engine/port';
import type { Vault } from '../../secrets/vault.ts';
import * as store from './store.ts';

export interface OutputDeps {
  readonly database: Database;
  readonly vault: Vault;
  /** Prefix of the keys of built-in variables, such as `DAVIT`. */
  readonly prefix: string;
}

/**
 * Stores the outputs of the last successful run of a service (a job or a Terraform configuration) as variables of its
 * environment. Users cannot edit them. Each output gets an alias with its plain name if that key is free. Replaces the
 * outputs of earlier runs and keeps their ids. Idempotent; does nothing if the service no longer exists.
 */
export async function storeOutputs(deps: OutputDeps, serviceId: string, outputs: readonly ServiceOutput[]): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const service = await tx.maybe(store.holdOutputOwner, [serviceId]);
    if (service === undefined) return;
    const owner: Owner = { ...service, id: serviceId };
    const former = new Map((await tx.many(store.readOutputs, [serviceId])).map((row) => [row.key, row]));
    const keys = new Set<string>();
    for (const output of outputs) {
      const key = `${deps.prefix}_OUTPUT_${owner.type}_Z${serviceId.slice(0, 8).toUpperCase()}_${output.name}`;
      keys.add(key).add(output.name);
      const id = await storeOutput(deps, tx, { owner, key, output, former: former.get(key) });
      await tx.run(store.writeOutputAlias, [
        randomUUID(),
        owner.organization_id,
        owner.environment_id,
        output.name,
        output.sensitive,
        id,
        serviceId,
      ]);
    }
    const gone = [...former.values()].filter((row) => !keys.has(row.key)).map((row) => row.id);
    if (gone.length > 0) await tx.run(store.deleteVariables, [gone]);
  });
}

interface Owner {
  readonly id: string;
  readonly type: string;
  readonly organization_id: string;
  readonly environment_id: string;
}

interface OneOutput {
  readonly owner: Owner;
  readonly key: string;
  readonly output: ServiceOutput;
  readonly former: store.OutputRow | undefined;
}

async function storeOutput(deps: OutputDeps, tx: Queryable, { owner, key, output, former }: OneOutput): Promise<string> {
  const secretId = output.sensitive ? await secretOf(deps, tx, { owner, value: output.value, former }) : null;
  const { id } = await tx.one(store.writeOutput, [
    randomUUID(),
    owner.organization_id,
    owner.environment_id,
    key,
    output.sensitive,
    output.sensitive ? null : output.value,
    secretId,
    output.description,
    owner.id,
  ]);
  return id;
}

/**
 * Returns the id of the stored secret. Keeps the former version if its text is the same, as a new version would make
 * services out of date.
 */
async function secretOf(
  { vault }: OutputDeps,
  tx: Queryable,
  { owner, value, former }: { readonly owner: Owner; readonly value: string; readonly former: store.OutputRow | undefined },
): Promise<string> {
  const formerId = former?.secret_value_id ?? null;
  if (formerId !== null) {
    const [version] = await tx.many(store.readSecretValues, [[formerId]]);
    if (version !== undefined && vault.open(version.id, version.sealed) === value) return formerId;
  }
  const id = randomUUID();
  await tx.run(store.insertSecretValue, [id, owner.organization_id, null, owner.environment_id, null, vault.seal(id, value), []]);
  return id;
}

import { randomUUID } from 'node:crypto';
import { canonicalJson } from '@davit/base';
import type { ReleaseConfig } from '@davit/engine/port';
import { Problems } from '../../shared/problems.ts';
import type { ApplicationRecord, ProcessRequest } from './request.ts';
import { readAuthentication, readTrigger, type Trigger, type Written } from './trigger.ts';

type Request = NonNullable<ProcessRequest['autoscaling']>;
type ScalerRequest = Request['scalers'][number];
type AutoscalingRecord = NonNullable<ApplicationRecord['autoscaling']>;
type Events = NonNullable<NonNullable<ReleaseConfig['scaling']>['events']>;

/** A part with an id of its own, which the part keeps through edits. */
interface Part {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
}

interface AuthenticationSpec extends Part {
  readonly name: string;
  readonly config_yaml: string;
}

interface ScalerSpec extends Part {
  readonly scaler_type: string;
  readonly enabled: boolean;
  readonly role: ScalerRequest['role'];
  /**
   * The configuration as text: a copy of the service changes ids only. Either `config_json` or `config_yaml` is set.
   */
  readonly config_json: string | null;
  readonly config_yaml: string | null;
  readonly trigger_authentication: AuthenticationSpec | null;
}

/** Scaling by events as stored. */
export interface AutoscalingSpec extends Part {
  readonly mode: 'KEDA';
  readonly polling_interval_seconds: number;
  readonly cooldown_period_seconds: number;
  readonly scalers: readonly ScalerSpec[];
}

/**
 * Returns the scaling after a request, which replaces the former scaling entirely. Entries at the same index keep their
 * ids.
 */
export function toAutoscaling(request: Request, former: AutoscalingSpec | undefined, problems: Problems): AutoscalingSpec {
  const scalers = request.scalers.map((scaler, index) => {
    const location = { at: `autoscaling.scalers.${index}`, request, problems };
    return toScaler(scaler, former?.scalers[index], location);
  });
  for (const [index, scaler] of scalers.entries()) triggerOf(scaler, index, problems);
  return kept<AutoscalingSpec>(former, {
    mode: request.mode,
    polling_interval_seconds: request.polling_interval_seconds ?? 30,
    cooldown_period_seconds: request.cooldown_period_seconds ?? 300,
    scalers,
  });
}

interface AutoscalingRequest {
  readonly at: string;
  readonly request: Request;
  readonly problems: Problems;
}

function toScaler(scaler: ScalerRequest, former: ScalerSpec | undefined, input: AutoscalingRequest): ScalerSpec {
  const { scaler_type, enabled, role, trigger_authentication: authentication } = scaler;
  const json = scaler.config_json ?? null;
  const yaml = scaler.config_yaml ?? null;
  if ((json === null) === (yaml === null))
    input.problems.add(`${input.at}.config_yaml`, 'must be set, or config_json: exactly one of them');
  return kept<ScalerSpec>(former, {
    scaler_type,
    enabled: enabled ?? true,
    role,
    config_json: json === null ? null : JSON.stringify(json),
    config_yaml: json === null ? yaml : null,
    trigger_authentication: authentication
      ? kept<AuthenticationSpec>(former?.trigger_authentication ?? undefined, {
          name: authentication.name,
          config_yaml: authentication.config_yaml ?? sameNamed(input.request, authentication.name) ?? missingConfig(input),
        })
      : null,
  });
}

/** Returns the authentication text of another scaler with this authentication name. Several scalers may share it. */
function sameNamed(request: Request, name: string): string | undefined {
  const named = request.scalers.map((scaler) => scaler.trigger_authentication).filter((one) => one?.name === name);
  return named.find((one) => typeof one?.config_yaml === 'string')?.config_yaml ?? undefined;
}

function missingConfig({ at, problems }: AutoscalingRequest): string {
  problems.add(`${at}.trigger_authentication.config_yaml`, 'is required, unless another scaler has one of this name');
  return '';
}

function kept<Spec extends Part>(former: Spec | undefined, next: Omit<Spec, keyof Part>): Spec {
  const now = new Date().toISOString();
  const { id = randomUUID(), created_at = now, updated_at = now, ...was } = former ?? {};
  const isSame = former !== undefined && canonicalJson(was) === canonicalJson(next);
  // A spec consists of the members of `Part` and the others.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { id, created_at, updated_at: isSame ? updated_at : now, ...next } as Spec;
}

/** Returns KEDA's trigger for a scaler. Adds errors to `problems`; stored scalers have none. */
function triggerOf(scaler: ScalerSpec, index: number, problems: Problems): Trigger {
  const { scaler_type, config_json, config_yaml, trigger_authentication: authentication } = scaler;
  const at = `autoscaling.scalers.${index}`;
  const config: Written = {
    text: config_json ?? config_yaml ?? '{}',
    path: `${at}.config_${config_json === null ? 'yaml' : 'json'}`,
  };
  const trigger = readTrigger(scaler_type, config, config_json !== null, problems);
  if (authentication === null || authentication.config_yaml === '') return trigger;
  const written = { text: authentication.config_yaml, path: `${at}.trigger_authentication.config_yaml` };
  return { ...trigger, authentication: { name: authentication.name, ...readAuthentication(written, problems) } };
}

/** Returns the release's scaling by events, or null if no scaler is enabled. PRIMARY scalers go first. */
export function toEvents(spec: AutoscalingSpec | undefined): Events | null {
  const enabled = spec?.scalers.filter((scaler) => scaler.enabled) ?? [];
  if (spec === undefined || enabled.length === 0) return null;
  const ordered = enabled.toSorted((a, b) => a.role.localeCompare(b.role));
  return {
    pollingSeconds: spec.polling_interval_seconds,
    cooldownSeconds: spec.cooldown_period_seconds,
    triggers: ordered.map((scaler, index) => triggerOf(scaler, index, new Problems())),
  };
}

/** Returns the contract's record of the scaling. */
export function toAutoscalingRecord(
  spec: AutoscalingSpec | undefined,
  { id: service_id, organization_id }: { readonly id: string; readonly organization_id: string },
): { readonly autoscaling?: AutoscalingRecord } {
  if (spec === undefined) return {};
  const scalers = spec.scalers.map(({ config_json, trigger_authentication, ...scaler }) => ({
    ...scaler,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object, as the contract wants in requests
    config_json: config_json === null ? null : (JSON.parse(config_json) as Readonly<Record<string, unknown>>),
    ...(trigger_authentication !== null && { trigger_authentication: { ...trigger_authentication, organization_id } }),
  }));
  return { autoscaling: { ...spec, service_id, scalers } };
}

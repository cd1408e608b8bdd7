import type { Event, Pod } from 'kubernetes-types/core/v1.js';
import { withoutReferences } from '../../shared/image-words.ts';
import { eventsOf, type InstanceFacts } from './instance-facts.ts';
import { toFault, type Fault } from './fault.ts';

/** How long nodes may retry to reach a registry. */
const registryMilliseconds = 60_000;

/** From this number on, refusals by a registry are not those of a node that had no credentials yet. */
const knowingDenials = 2;

/**
 * Classifies a node's message about an image that the node cannot pull. The names of `images` in the message are
 * ignored. Pure.
 */
export function imageFault(
  output: string,
  images: readonly string[] = [],
): 'MISSING' | 'NOT_FOUND' | 'DENIED' | 'UNREACHABLE' | null {
  const words = withoutReferences(output, images);
  if (/ErrImageNeverPull|InvalidImageName|couldn't parse image name|invalid reference format/i.test(words)) return 'MISSING';
  if (/unauthorized|authentication required|denied|forbidden|no basic auth|\b40[13]\b/i.test(words)) return 'DENIED';
  if (/not found|manifest unknown|name unknown|no such image|\b404\b/i.test(words)) return 'NOT_FOUND';
  if (
    /dial tcp|no such host|timeout|connection refused|connection reset|x509|tls:|EOF|too many requests|\b(?:429|5\d\d)\b/i.test(
      words,
    )
  )
    return 'UNREACHABLE';
  return null;
}

/** Returns how often a registry refused the same image. Nodes count repeated events. */
function denials(events: readonly Event[], images: readonly string[]): number {
  const denied = events.filter(({ reason, message = '' }) => reason === 'Failed' && imageFault(message, images) === 'DENIED');
  return Math.max(0, ...denied.map(({ count, series }) => series?.count ?? count ?? 1));
}

export function imagePullFault(
  reason: string,
  message: string,
  { seen, pod }: { readonly seen: InstanceFacts; readonly pod: Pod },
): Fault {
  const events = eventsOf(seen);
  const images = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map(({ image = '' }) => image);
  // While a node waits for the next attempt, its message gives no cause. The warning event of the attempt gives the
  // cause.
  const reported = events
    .filter(({ reason }) => reason === 'Failed' || reason === 'InspectFailed')
    .map((event) => event.message ?? '');
  const words = [message, ...reported.toReversed()].find((one) => imageFault(one, images) !== null) ?? message;
  const fault = reason === 'ErrImageNeverPull' || reason === 'InvalidImageName' ? 'MISSING' : imageFault(words, images);
  // A node may see a pod before it may read the pod's Secret, and then pulls without credentials. It has the
  // credentials when it retries after ten seconds.
  const mayLackCredentials =
    fault === 'DENIED' && (pod.spec?.imagePullSecrets ?? []).length > 0 && denials(events, images) < knowingDenials;
  const passes = fault === null || fault === 'UNREACHABLE' || mayLackCredentials;
  return toFault(seen, passes ? registryMilliseconds : 0, { type: 'IMAGE', fault: fault ?? 'UNREACHABLE', words });
}

import { operations } from '@davit/contract';
import type { Mounting } from '../../http/mount.ts';
import { streamDeployment, streamOrganization, streamServiceLog, type StreamDeps } from './stream.ts';

export function mountStream(mounting: Mounting, deps: StreamDeps): void {
  mounting
    .onStream(operations.streamOrganization, (call) => streamOrganization(deps, call))
    .onStream(operations.streamDeployment, (call) => streamDeployment(deps, call))
    .onStream(operations.streamServiceLog, (call) => streamServiceLog(deps, call));
}

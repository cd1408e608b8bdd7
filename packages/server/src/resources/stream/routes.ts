import { operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { streamDeployment, streamOrganization, streamServiceLog } from './stream.ts';

export function mountStream(mounting: Mounting, deps: Deps): void {
  mounting
    .onStream(operations.streamOrganization, (call) => streamOrganization(deps, call))
    .onStream(operations.streamDeployment, (call) => streamDeployment(deps, call))
    .onStream(operations.streamServiceLog, (call) => streamServiceLog(deps, call));
}

import { readConfiguration } from '../../packages/server/src/main/config.ts';
import { serve } from '../../packages/server/src/main/serve.ts';
import { remoteCluster } from '../../packages/testkit/src/remote-cluster.ts';

/*
 * Runs `davit serve` in its own process, over the fake cluster of the test that started it. Sends its address to the
 * test when the server is ready.
 */

const set = remoteCluster();
const serving = await serve(
  readConfiguration(process.env),
  () => undefined,
  () => ({ set, detach: () => undefined }),
);
process.once('disconnect', () => process.exit(0));
process.send?.({ address: serving.address, health: serving.health });

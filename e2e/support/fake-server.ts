import { readConfiguration } from '../../packages/server/src/main/config.ts';
import { serve } from '../../packages/server/src/main/serve.ts';
import { remoteCluster } from '../../packages/testkit/src/remote-cluster.ts';

/* `davit serve` in a process of its own, over the fake cluster of the test that started it. Tells its address when it is ready. */

const set = remoteCluster();
const serving = await serve(
  readConfiguration(process.env),
  () => undefined,
  () => ({ set, detach: () => undefined }),
);
process.once('disconnect', () => process.exit(0));
process.send?.({ address: serving.address, health: serving.health });

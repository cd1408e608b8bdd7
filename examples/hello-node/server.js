import { createServer } from 'node:http';
import { hostname } from 'node:os';

const port = Number(process.env.PORT ?? 3000);
const greeting = process.env.GREETING ?? 'Hello';

const server = createServer((request, response) => {
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(`${greeting} from ${hostname()}, an instance that Davit runs.\n`);
});

// 0.0.0.0: what listens on 127.0.0.1 only cannot be reached from outside of its container.
server.listen(port, '0.0.0.0', () => console.log(`listening on port ${port}`));

// A new release is already serving by now; this one answers what it has begun and ends.
process.once('SIGTERM', () => {
  console.log('stopping');
  server.close(() => process.exit(0));
});

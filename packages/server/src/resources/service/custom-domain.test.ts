import { expect, test } from 'vitest';
import { validationDomain } from './custom-domain.ts';

const east = 'a9f0a2c4-0000-4000-8000-000000000001';
const settings = {
  gatewayDomain: 'localhost',
  gatewayPort: 4480,
  clusterSettings: { [east]: { address: 'https://apps.example.org' } },
};

test('the CNAME record of a custom domain leads to what leads requests to the service', () => {
  const service = { id: '1a2b3c4d-0000-4000-8000-000000000000', type: 'CONTAINER' };
  const lead = (driver: string): string => validationDomain(settings, { ...service, driver });
  expect(lead(east)).toMatch(/-z1a2b3c4d\.apps\.example\.org$/);
  expect(lead('docker')).toMatch(/-z1a2b3c4d\.localhost$/);
});

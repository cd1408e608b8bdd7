import { randomUUID } from 'node:crypto';
import { here, making, named, type Ids, type Recipe, type Recipes } from './scene.ts';

/* Calls that change what services have beside their record. */

const domain = (): object => ({ domain: `d${randomUUID()}.example.org`, generate_certificate: true });
const domainOf = (noun: string): Recipe['ids'] =>
  making('customDomainId', (ids) => `/${noun}/${ids[`${noun}Id`]}/customDomain`, domain);
const applicationDomain = domainOf('application');
const containerDomain = domainOf('container');
const helmDomain = domainOf('helm');

export const domainRecipes: Recipes = {
  createApplicationCustomDomain: { ids: here, body: domain, event: 'CREATE APPLICATION CUSTOM_DOMAIN' },
  editCustomDomain: { ids: applicationDomain, body: domain, event: 'UPDATE APPLICATION CUSTOM_DOMAIN' },
  deleteCustomDomain: { ids: applicationDomain, event: 'DELETE APPLICATION CUSTOM_DOMAIN' },
  createContainerCustomDomain: { ids: here, body: domain, event: 'CREATE CONTAINER CUSTOM_DOMAIN' },
  editContainerCustomDomain: { ids: containerDomain, body: domain, event: 'UPDATE CONTAINER CUSTOM_DOMAIN' },
  deleteContainerCustomDomain: { ids: containerDomain, event: 'DELETE CONTAINER CUSTOM_DOMAIN' },
  createHelmCustomDomain: { ids: here, body: domain, event: 'CREATE HELM CUSTOM_DOMAIN' },
  editHelmCustomDomain: { ids: helmDomain, body: domain, event: 'UPDATE HELM CUSTOM_DOMAIN' },
  deleteHelmCustomDomain: { ids: helmDomain, event: 'DELETE HELM CUSTOM_DOMAIN' },
};

const settings = (): object => ({ 'deployment.termination_grace_period_seconds': 7 });

const copy = ({ environmentId }: Ids): object => ({ ...named(), environment_id: environmentId });

export const serviceCloneRecipes: Recipes = {
  cloneApplication: { ids: here, body: copy, event: 'CLONE APPLICATION' },
  cloneContainer: { ids: here, body: copy, event: 'CLONE CONTAINER' },
  cloneDatabase: { ids: here, body: copy, event: 'CLONE DATABASE' },
  cloneJob: { ids: here, body: copy, event: 'CLONE JOB' },
  cloneHelm: { ids: here, body: copy, event: 'CLONE HELM' },
  cloneTerraform: { ids: here, body: copy, event: 'CLONE TERRAFORM' },
};

const network = (): object => ({ sticky_session: true });

export const settingsRecipes: Recipes = {
  editApplicationNetwork: { ids: here, body: network, event: 'UPDATE APPLICATION' },
  editContainerNetwork: { ids: here, body: network, event: 'UPDATE CONTAINER' },
  editAdvancedSettings: { ids: here, body: settings, event: 'UPDATE APPLICATION' },
  editContainerAdvancedSettings: { ids: here, body: settings, event: 'UPDATE CONTAINER' },
  editJobAdvancedSettings: { ids: here, body: settings, event: 'UPDATE JOB' },
  editHelmAdvancedSettings: { ids: here, body: () => ({}), event: '' },
  editTerraformAdvancedSettings: { ids: here, body: settings, event: 'UPDATE TERRAFORM' },
};

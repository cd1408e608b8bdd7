import { randomUUID } from 'node:crypto';
import { here, making, named, type Ids, type Recipe, type Recipes, type EventFixture } from './fixture.ts';

/* Calls that change parts of services other than their record. */

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
/** Creates a service with an image of its own and a waiting deployment. */
const ofImage =
  (noun: 'container' | 'job') =>
  async (fixture: EventFixture): Promise<Ids> => {
    const ids = await fixture.fresh();
    const image_name = `image-${randomUUID()}`;
    const image = { registry_id: ids['containerRegistryId'], image_name, tag: '1' };
    const source = noun === 'job' ? { source: { image } } : image;
    const at = `/${noun}/${ids[`${noun}Id`]}`;
    await fixture.change(`PUT ${at}`, { auto_deploy: true, auto_preview: true, ...source });
    await fixture.make(`${at}/deploy`);
    return { ...ids, imageName: image_name };
  };
/** Creates a service with a repository of its own, because there is one webhook per repository. */
const ofRepository = async (fixture: EventFixture): Promise<Ids> => {
  const git_repository = { url: `https://git.example.org/shop/${randomUUID()}.git` };
  const body = { ...named(), dockerfile_path: 'Dockerfile', git_repository };
  return { serviceId: await fixture.make(`/environment/${fixture.here['environmentId']}/application`, body) };
};
const newTag = ({ imageName }: Ids): object => ({ image_name: imageName, tag: '2' });

export const gitRecipes: Recipes = {
  autoDeployContainerEnvironments: { ids: ofImage('container'), body: newTag, event: 'TRIGGER_DEPLOY CONTAINER' },
  autoDeployJobEnvironments: { ids: ofImage('job'), body: newTag, event: 'TRIGGER_DEPLOY JOB' },
  previewContainerEnvironments: { ids: ofImage('container'), body: newTag, event: 'CLONE ENVIRONMENT' },
  createServiceGitWebhook: { ids: ofRepository, body: () => ({}), event: 'CREATE ORGANIZATION CONFIG' },
  syncServiceGitWebhook: { ids: ofRepository, event: 'CREATE ORGANIZATION CONFIG' },
};

export const settingsRecipes: Recipes = {
  editApplicationNetwork: { ids: here, body: network, event: 'UPDATE APPLICATION' },
  editContainerNetwork: { ids: here, body: network, event: 'UPDATE CONTAINER' },
  editAdvancedSettings: { ids: here, body: settings, event: 'UPDATE APPLICATION' },
  editContainerAdvancedSettings: { ids: here, body: settings, event: 'UPDATE CONTAINER' },
  editJobAdvancedSettings: { ids: here, body: settings, event: 'UPDATE JOB' },
  editHelmAdvancedSettings: { ids: here, body: () => ({}), event: '' },
  editTerraformAdvancedSettings: { ids: here, body: settings, event: 'UPDATE TERRAFORM' },
};

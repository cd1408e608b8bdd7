import { operations, type CredentialProvider } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as credentials from './cloud-credentials.ts';
import { awsCredentials, cloudcCredentials, onPremiseCredentials, vendoraCredentials, vendorbCredentials } from './kinds.ts';

const of =
  (provider: CredentialProvider) =>
  <Params extends object>(params: Params) => ({ ...params, provider });
const aws = of('AWS');
const vendora = of('VENDORA');
const vendorb = of('VENDORB');
const cloudc = of('CLOUDC');
const onPremise = of('ON_PREMISE');

export function mountCloudCredentials(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting.on(operations.listOrganizationCredentials, ({ caller, params }) =>
    credentials.listAllCredentials(deps, caller, params.organizationId),
  );
  mountAws(mounting, deps);
  mountVendora(mounting, deps);
  mountVendorb(mounting, deps);
  mountCloudc(mounting, deps);
  mountOnPremise(mounting, deps);
}

function mountAws(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting
    .on(operations.listAWSCredentials, ({ caller, params }) => credentials.listCredentials(deps, caller, aws(params)))
    .on(operations.createAWSCredentials, ({ caller, params, body }) =>
      credentials.createCredentials(deps, caller, aws(params), awsCredentials(body)),
    )
    .on(operations.getAWSCredentials, ({ caller, params }) => credentials.readCredentials(deps, caller, aws(params)))
    .on(operations.editAWSCredentials, ({ caller, params, body }) =>
      credentials.editCredentials(deps, caller, aws(params), {
        name: body.name,
        toSpec: (stored) => awsCredentials(body, stored),
      }),
    )
    .on(operations.deleteAWSCredentials, ({ caller, params }) => credentials.deleteCredentials(deps, caller, aws(params)));
}

function mountVendora(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting
    .on(operations.listVendoraCredentials, ({ caller, params }) => credentials.listCredentials(deps, caller, vendora(params)))
    .on(operations.createVendoraCredentials, ({ caller, params, body }) =>
      credentials.createCredentials(deps, caller, vendora(params), vendoraCredentials(body)),
    )
    .on(operations.getVendoraCredentials, ({ caller, params }) => credentials.readCredentials(deps, caller, vendora(params)))
    .on(operations.editVendoraCredentials, ({ caller, params, body }) =>
      credentials.editCredentials(deps, caller, vendora(params), {
        name: body.name,
        toSpec: (stored) => vendoraCredentials(body, stored),
      }),
    )
    .on(operations.deleteVendoraCredentials, ({ caller, params }) =>
      credentials.deleteCredentials(deps, caller, vendora(params)),
    );
}

function mountVendorb(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting
    .on(operations.listVendorbCredentials, ({ caller, params }) => credentials.listCredentials(deps, caller, vendorb(params)))
    .on(operations.createVendorbCredentials, ({ caller, params, body }) =>
      credentials.createCredentials(deps, caller, vendorb(params), vendorbCredentials(body)),
    )
    .on(operations.getVendorbCredentials, ({ caller, params }) => credentials.readCredentials(deps, caller, vendorb(params)))
    .on(operations.editVendorbCredentials, ({ caller, params, body }) =>
      credentials.editCredentials(deps, caller, vendorb(params), {
        name: body.name,
        toSpec: () => vendorbCredentials(body),
      }),
    )
    .on(operations.deleteVendorbCredentials, ({ caller, params }) =>
      credentials.deleteCredentials(deps, caller, vendorb(params)),
    );
}

function mountCloudc(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting
    .on(operations.listCloudcCredentials, ({ caller, params }) => credentials.listCredentials(deps, caller, cloudc(params)))
    .on(operations.createCloudcCredentials, ({ caller, params, body }) =>
      credentials.createCredentials(deps, caller, cloudc(params), cloudcCredentials(body)),
    )
    .on(operations.getCloudcCredentials, ({ caller, params }) => credentials.readCredentials(deps, caller, cloudc(params)))
    .on(operations.editCloudcCredentials, ({ caller, params, body }) =>
      credentials.editCredentials(deps, caller, cloudc(params), {
        name: body.name,
        toSpec: (stored) => cloudcCredentials(body, stored),
      }),
    )
    .on(operations.deleteCloudcCredentials, ({ caller, params }) => credentials.deleteCredentials(deps, caller, cloudc(params)));
}

function mountOnPremise(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting
    .on(operations.listOnPremiseCredentials, ({ caller, params }) => credentials.listCredentials(deps, caller, onPremise(params)))
    .on(operations.createOnPremiseCredentials, ({ caller, params, body }) =>
      credentials.createCredentials(deps, caller, onPremise(params), onPremiseCredentials(body)),
    )
    .on(operations.getOnPremiseCredentials, ({ caller, params }) => credentials.readCredentials(deps, caller, onPremise(params)))
    .on(operations.editOnPremiseCredentials, ({ caller, params, body }) =>
      credentials.editCredentials(deps, caller, onPremise(params), {
        name: body.name,
        toSpec: () => onPremiseCredentials(body),
      }),
    )
    .on(operations.deleteOnPremiseCredentials, ({ caller, params }) =>
      credentials.deleteCredentials(deps, caller, onPremise(params)),
    );
}

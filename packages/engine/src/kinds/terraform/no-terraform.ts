import { DriverError, type TerraformDriver } from '@davit/drivers';

/** Terraform driver of a process that runs no Terraform configurations. */
export const noTerraform: TerraformDriver = {
  versions: () => Promise.resolve([]),
  remove: () => Promise.resolve(),
  open: () =>
    Promise.reject(
      new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: 'this process cannot run Terraform configurations' }),
    ),
  end: () => Promise.resolve([]),
  hasUnstoredState: () => Promise.resolve(false),
};

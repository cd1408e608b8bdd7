export { Terraform } from './terraform.ts';

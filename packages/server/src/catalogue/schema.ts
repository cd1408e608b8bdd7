import { featureTypes } from '@davit/contract';
import { vendorWords } from './catalogue.ts';

const text = { type: 'string', minLength: 1, maxLength: 500 };
const optionalText = { type: ['string', 'null'], maxLength: 2000 };
const texts = { type: 'array', items: text };
const wholeNumber = { type: 'integer', minimum: 0 };
const amount = { type: 'number', exclusiveMinimum: 0 };
const truth = { type: 'boolean' };

/**
 * Returns a schema in which all properties are required, except those in `optional`. Other properties are rejected,
 * since they may be misspelt.
 */
export function shape(properties: Readonly<Record<string, unknown>>, optional: readonly string[] = []): Record<string, unknown> {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

const list = (items: unknown): Record<string, unknown> => ({ type: 'array', items });

const region = shape({
  name: text,
  country_code: { type: 'string', pattern: '^[A-Z]{2}$' },
  country: text,
  city: text,
  zones: texts,
});

const feature = shape({
  // Ids in requests are compared in lower case.
  id: { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
  title: text,
  description: optionalText,
  type: { type: 'string', enum: featureTypes },
  is_cloud_provider_paying_feature: truth,
  cloud_provider_feature_documentation: optionalText,
  is_value_updatable: truth,
  accepted_values: list({ type: ['string', 'boolean'] }),
});

const attributeNames = ['instance_category', 'instance_generation', 'instance_family', 'instance_size'];
const instanceType = shape(
  {
    type: text,
    cpu: amount,
    ram_in_gb: amount,
    bandwidth_in_gbps: text,
    bandwidth_guarantee: text,
    architecture: { type: 'string', enum: ['AMD64', 'ARM64'] },
    gpu_info: shape({ count: wholeNumber, name: text, manufacturer: text, memory_in_mib: text }),
    attributes: shape(
      { instance_category: text, instance_generation: wholeNumber, instance_family: text, instance_size: text },
      attributeNames,
    ),
    locations: texts,
  },
  ['gpu_info', 'attributes', 'locations'],
);

const vendor = shape({
  name: text,
  managed_kubernetes_segments: texts,
  regions: list(region),
  features: list(feature),
  instance_types: list(instanceType),
  managed_databases: list(shape({ name: text, instance_types: list(shape({ name: text, locations: texts }, ['locations'])) })),
});

/** JSON Schema of a catalogue file. */
export const catalogueSchema = shape({
  version: text,
  node_requirements: shape({ cpu: amount, ram_in_gb: amount }),
  vendors: shape(Object.fromEntries(vendorWords.map((word) => [word, vendor]))),
});

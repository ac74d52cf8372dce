import { type Static, type TSchema, Type } from 'typebox';
import { ROLES } from '#pipelines/settings/access.ts';
import { eventDefinitionSchema } from '#pipelines/settings/event_definitions.ts';
import { BUSINESS_CATEGORIES } from '#pipelines/settings/validate_site.ts';
import { BLOCK_RULE_KINDS } from '#schemas/setting.ts';
import { closed, hashField, idField, metaFields, nameField, nullable, refusedAs } from './fields.ts';
import { userIdField } from './session_shapes.ts';

const { id, name, trigger, ...withDefaults } = eventDefinitionSchema.properties;

/** An event definition as it is written: what has a default may be left out. */
export const definitionInput = closed(
  { id, name, trigger, ...optional(withDefaults) },
  refusedAs('event_definition_malformed'),
);

const blockRule = closed(
  {
    kind: Type.Enum([...BLOCK_RULE_KINDS], { description: 'What is compared; ip takes an address or a CIDR range' }),
    value: Type.String({ maxLength: 500 }),
    property: Type.Optional(
      nullable(Type.String({ maxLength: 200 }), { description: 'Name of the property, for kind property only' }),
    ),
  },
  refusedAs('block_rule_malformed'),
);

const tagShape = closed({
  web_vitals: Type.Boolean({ description: 'Whether loading times and the like are measured (Core Web Vitals)' }),
  consent_required: Type.Boolean({ description: 'Whether nothing is measured before the visitor has agreed' }),
  consent_queue: Type.Boolean({ description: 'Whether what happened before is sent once the visitor agrees' }),
  respect_dnt: Type.Boolean({ description: 'Whether Do Not Track is a refusal' }),
  respect_gpc: Type.Boolean({
    description: "Whether Global Privacy Control keeps a visitor's events from advertising platforms",
  }),
  inventory: Type.Boolean({ description: 'Whether the elements of pages are looked over' }),
});

const settable = {
  account_id: idField('The account whose allowance it uses'),
  name: nameField('Name shown to people'),
  mode: Type.Enum(['online', 'offline'], {
    description: 'offline: anonymous only, the edge strips identifiers',
    ...refusedAs('mode_unknown'),
  }),
  business_category: Type.Enum([...BUSINESS_CATEGORIES], {
    description: 'Informational only',
    ...refusedAs('category_unknown'),
  }),
  default_country: nullable(Type.String({ pattern: '^[A-Z]{2}$' }), {
    description: 'ISO 3166-1 alpha-2; reads phone numbers written without a country code',
    ...refusedAs('country_unknown'),
  }),
  identify_events: nullable(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 200 }), {
    description: 'Events that may stitch identities; null means the standard list',
    ...refusedAs('event_name_malformed'),
  }),
  server_only_events: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    description: 'Events that browser keys may not send; case and separators do not count',
    maxItems: 200,
    ...refusedAs('event_name_malformed'),
  }),
  clarity_project_id: nullable(Type.String({ pattern: '^[a-z0-9]{4,20}$' }), refusedAs('clarity_id_malformed')),
  gtm_container_id: nullable(Type.String({ pattern: '^GTM-[A-Z0-9]{4,10}$' }), refusedAs('gtm_id_malformed')),
  domains: Type.Array(Type.String({ minLength: 1, maxLength: 253, ...refusedAs('domain_malformed') }), {
    description: 'Claimed first-party domains; a domain belongs to the one site that proves it',
    maxItems: 100,
    ...refusedAs('too_many'),
  }),
  tag: closed(optional(tagShape.properties), {
    description: 'How the browser tag behaves; members that are left out stay as they are',
  }),
  block_rules: Type.Array(blockRule, { maxItems: 500, ...refusedAs('too_many') }),
  event_definitions: Type.Array(definitionInput, { maxItems: 200, ...refusedAs('too_many') }),
};

const siteId = idField('Chosen at creation, for good');
const { account_id, ...defaulted } = settable;

/** Body of a creation. */
export const newSite = closed({ site_id: siteId, account_id, ...optional(defaulted) });
const accessKind = Type.Enum(['grants', 'tokens', 'keys', 'analysts']);
export type SiteAccessKind = Static<typeof accessKind>;

/** Body of a change: the fields that are given take the place of what was there. */
export const siteChange = closed({
  ...optional(settable),
  end_access: Type.Optional(
    Type.Array(accessKind, {
      description:
        'Ends what was given in the site itself, which else goes on working in another account, as far as who asks may: roles of users, admin tokens, ingest keys, users of ClickHouse',
      uniqueItems: true,
    }),
  ),
});
export type SiteChange = Static<typeof siteChange>;

export const siteParams = closed({ site_id: siteId });
export const definitionParams = closed({ site_id: siteId, definition_id: idField('Id of the event definition') });

export const siteShape = Type.Object({
  site_id: siteId,
  ...settable,
  loader_prefix: nullable(Type.String(), {
    description: "A folder under which the site's domains have vendors' scripts and collectors as well",
  }),
  tag: tagShape,
  block_rules: Type.Array(Type.Object({ ...blockRule.properties, property: nullable(Type.String()) })),
  event_definitions: Type.Array(eventDefinitionSchema),
  ...metaFields,
});
export type SiteItem = Static<typeof siteShape>;

const siteAccessShape = Type.Object({
  grants: Type.Array(Type.Object({ user_id: userIdField, role: Type.Enum([...ROLES]) }), {
    description: 'Users with a role in the site itself',
  }),
  tokens: Type.Array(Type.Object({ token_hash: hashField('The token'), label: Type.String() }), {
    description: 'Admin tokens that may something in the site itself',
  }),
  keys: Type.Array(Type.Object({ key_hash: hashField('The key'), shown_prefix: Type.String(), label: Type.String() }), {
    description: 'Ingest keys',
  }),
});
export type SiteAccess = Static<typeof siteAccessShape>;

const stillWorksShape = Type.Object(
  {
    ...siteAccessShape.properties,
    analysts: nullable(Type.Array(Type.Object({ analyst_id: Type.String() })), {
      description: 'Users of ClickHouse that read the site; null: it did not answer, and some may be left',
    }),
  },
  { description: 'What was given in the site itself and still works: where it moves, or access is ended' },
);
export type StillWorks = Static<typeof stillWorksShape>;
export const changedSiteShape = Type.Object({
  ...siteShape.properties,
  still_works: Type.Optional(stillWorksShape),
});
export type ChangedSite = Static<typeof changedSiteShape>;

type Optionals<Properties extends Record<string, TSchema>> = {
  [Name in keyof Properties]: ReturnType<typeof Type.Optional<Properties[Name]>>;
};

function optional<Properties extends Record<string, TSchema>>(properties: Properties): Optionals<Properties> {
  const entries = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)]);
  return Object.fromEntries(entries) as Optionals<Properties>;
}

import { type Static, Type } from 'typebox';
import { closed, idField, nullable, refusedAs, timeField } from './fields.ts';
import { siteParams } from './site_shapes.ts';

const record = (description: string) => Type.Object({ name: Type.String(), value: Type.String() }, { description });

export const domainParams = closed({
  ...siteParams.properties,
  domain: Type.String({ minLength: 1, maxLength: 253, ...refusedAs('domain_malformed') }),
});

/** A claimed domain, and how far it is proven that it is the site's. */
export const domainShape = Type.Object({
  domain: Type.String({ description: 'In lower-case punycode' }),
  site_id: idField('The site that claimed it'),
  state: Type.Enum(['pending', 'verified', 'failing', 'lapsed'], {
    description:
      'Only verified and failing domains are served. failing: its record is gone since failing_since; lapsed: for longer than the grace',
  }),
  verified_at: nullable(timeField('When its record was first found')),
  failing_since: nullable(timeField('Since when its record is gone')),
  lapses_at: nullable(timeField('When a failing domain is served no more')),
  records: Type.Object(
    {
      txt: record('A TXT record'),
      cname: nullable(record('A CNAME record, which brings the traffic as well'), {
        description: 'Null where CONTROL_DOMAIN_CNAME_TARGET is not set',
      }),
    },
    { description: 'Either of these records proves it; it has to stay' },
  ),
});
export type DomainItem = Static<typeof domainShape>;

import { type Static, Type } from 'typebox';
import { nullable } from './fields.ts';

export const installationShape = Type.Object({
  edge_url: nullable(Type.String({ description: 'An origin, such as https://events.example' }), {
    description:
      'Where browsers reach the edge, on sites without a domain of their own; null where it is not configured',
  }),
});
export type Installation = Static<typeof installationShape>;

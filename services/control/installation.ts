import { nothing } from '#services/control_api/fields.ts';
import { installationShape } from '#services/control_api/installation_shapes.ts';
import { done, type Route, route } from './route.ts';

export const installationRoute: Route = route({
  method: 'GET',
  path: '/v1/admin/installation',
  operationId: 'getInstallation',
  access: 'known',
  tag: 'Sites',
  summary: 'What is the same for every site: where browsers reach the edge',
  params: nothing,
  query: nothing,
  body: null,
  ifMatch: 'none',
  success: { status: 200, schema: installationShape, description: 'The installation' },
  errors: [],
  run: (_input, { edgeUrl }) => done([], () => ({ body: { edge_url: edgeUrl } })),
});

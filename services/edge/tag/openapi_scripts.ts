import { Type } from 'typebox';
import type { DocumentedResponse, DocumentedRoute } from '#pipelines/openapi/document.ts';
import { failures } from '../openapi_failures.ts';
import { scriptStatusShape } from './script_status.ts';
import { TAG_SOURCES } from './scripts.ts';

const OPEN = { method: 'GET', tag: 'Tag', params: null, query: null, body: null, security: [] };
const conditional = Type.Object({
  'If-None-Match': Type.Optional(Type.String({ description: 'The ETag that is known' })),
  'Accept-Encoding': Type.Optional(Type.String({ description: 'br and gzip are made ahead' })),
});
const SCRIPT: DocumentedResponse = {
  status: 200,
  description: 'The script',
  contentType: 'text/javascript',
  schema: Type.String(),
  headers: {
    ETag: 'Of these very bytes: it differs by Content-Encoding',
    'Cache-Control': 'public for 5 minutes',
  },
};
const UNCHANGED: DocumentedResponse = { status: 304, description: 'It is as it was', schema: null };

/** The routes that serve the tag. */
export function scriptRoutes(): DocumentedRoute[] {
  const paths = TAG_SOURCES.flatMap(({ name }) => [`/${name}`, `/v1/${name}`]);
  return [
    ...paths.map((path) => ({
      ...OPEN,
      path,
      operationId: `script${path.replaceAll(/\W+/g, '_')}`,
      summary: 'Load the tag',
      headers: conditional,
      responses: [SCRIPT, UNCHANGED, ...failures(['request_malformed', 'script_not_built'])],
    })),
    {
      ...OPEN,
      path: '/v1/svc/{digest}/{name}',
      operationId: 'script_content',
      summary: 'Load a script of the tag under a path whose content never changes, as Subresource Integrity needs',
      params: Type.Object({
        digest: Type.String({ description: 'As script-status has it in path' }),
        name: Type.Enum(TAG_SOURCES.map(({ name }) => name)),
      }),
      headers: conditional,
      responses: [
        { ...SCRIPT, headers: { ETag: 'Of these very bytes', 'Cache-Control': 'for ever' } },
        UNCHANGED,
        ...failures(['request_malformed', 'not_found']),
      ],
    },
    {
      ...OPEN,
      path: '/v1/visitor',
      operationId: 'renewVisitor',
      summary: "Set the visitor's cookie again, on a verified domain, as the tag asks while the visitor allows it",
      headers: null,
      responses: [
        {
          status: 204,
          description: 'Nothing is said of whether there was one',
          schema: null,
          headers: { 'Set-Cookie': "On an online site: the visitor's svc_did for another 13 months" },
        },
        ...failures(['request_malformed', 'domain_unverified']),
      ],
    },
    {
      ...OPEN,
      path: '/v1/script-status',
      operationId: 'scriptStatus',
      summary: 'Whether the scripts are built, their sizes and their ETags',
      headers: null,
      responses: [
        { status: 200, description: 'What this edge serves', schema: scriptStatusShape },
        ...failures(['request_malformed']),
      ],
    },
  ];
}

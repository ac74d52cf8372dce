import { Type } from 'typebox';
import { LOADER_NAMES, type LoaderName } from '#pipelines/loaders/vendor_scripts.ts';
import type { DocumentedRoute } from '#pipelines/openapi/document.ts';
import { failures } from '../openapi_failures.ts';

const WHAT: Readonly<Record<LoaderName, string>> = {
  'sg.js': "gtag, for the site's measurement id",
  'sx.js': "Tag Manager's container of the site",
  'sp.js': "Meta's pixel",
  'tt.js': "TikTok's pixel, for the site's pixel code",
};

/** The routes that serve platforms' scripts; each is below the site's loader prefix too. */
export function loaderRoutes(): DocumentedRoute[] {
  return LOADER_NAMES.map((name) => ({
    method: 'GET',
    path: `/${name}`,
    operationId: `loader_${name.replace('.', '_')}`,
    tag: 'First-party domains',
    summary: `On a verified domain: ${WHAT[name]}; below the site's loader prefix too`,
    params: null,
    query: null,
    headers: Type.Object({
      'If-None-Match': Type.Optional(Type.String({ description: 'The ETag that is known' })),
      'Accept-Encoding': Type.Optional(Type.String({ description: 'br and gzip are there' })),
    }),
    body: null,
    responses: [
      {
        status: 200,
        description: "The platform's script; an empty one with the reason in a comment where it cannot be had",
        contentType: 'text/javascript',
        schema: Type.String(),
        headers: {
          ETag: 'Of these very bytes: it differs by Content-Encoding',
          'Cache-Control': 'public for 5 minutes; 30 seconds where it is stale; no-store where it is empty',
        },
      },
      { status: 304, description: 'It is as it was', schema: null },
      ...failures(['request_malformed', 'domain_unverified', 'script_not_configured', 'internal']),
    ],
    security: [],
  }));
}

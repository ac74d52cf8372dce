import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { CONTROL_ERRORS } from '#services/control/errors.ts';
import { schemaProblems } from '#services/control/route.ts';
import { controlDocument, EXAMPLES, errorsOf, ROUTES } from '#services/control/routes.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { resolved } from './documented.ts';
import { control } from './harness.ts';

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  schema: object;
}

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security: Record<string, unknown[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: object }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}

interface Document {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
}

const document = controlDocument() as unknown as Document;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => [`${method} ${path}`, path, operation] as const),
);

describe('the document', () => {
  it('is OpenAPI 3.1, plain JSON, and all its references resolve', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(() => resolved(document)).not.toThrow();
  });

  it('has every route, under ids that differ', () => {
    const ids = operations.map(([, , operation]) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(ids)).toEqual(new Set([...ROUTES.map(({ operationId }) => operationId), 'health']));
  });

  it('has every operation whole', () =>
    checkAll(operations, ([_name, path, operation]) => {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const parameters = operation.parameters ?? [];
      expect(parameters.filter((item) => item.in === 'path').map(({ name }) => name)).toEqual(inPath);
      for (const parameter of parameters) {
        expect(['path', 'query', 'header']).toContain(parameter.in);
        expect(parameter.schema).toBeTypeOf('object');
        if (parameter.in === 'path') expect(parameter.required).toBe(true);
      }
      for (const tag of operation.tags) expect(document.tags.map(({ name }) => name)).toContain(tag);
      for (const need of operation.security) {
        expect(Object.keys(document.components.securitySchemes)).toEqual(expect.arrayContaining(Object.keys(need)));
      }
      expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true);
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(status).toMatch(/^[1-5]\d\d$/);
        expect(response.description).not.toBe('');
      }
    }));

  it('names with every route the codes of its errors', () =>
    checkAll(
      ROUTES.map((route) => [route.operationId, route] as const),
      ([_id, route]) => {
        const responses = document.paths[route.path]?.[route.method.toLowerCase()]?.responses ?? {};
        for (const code of errorsOf(route)) {
          expect(responses[String(CONTROL_ERRORS[code].status)]?.description).toContain(`\`${code}\``);
        }
      },
    ));

  it('holds schemas of the same values that validate, not copies', () => {
    const route = ROUTES.find(({ operationId }) => operationId === 'changeSite');
    const body = document.paths['/v1/admin/sites/{site_id}']?.['patch']?.requestBody?.content['application/json'];
    expect(resolved(body?.schema)).toEqual(JSON.parse(JSON.stringify(route?.body)));
  });
});

describe('/docs', () => {
  it('shows every route to people, runs no script and needs no token', async () => {
    const world = await control();
    const page = await world.call('GET', '/docs', { token: null });
    expect(page.status).toBe(200);
    for (const { path } of ROUTES) expect(page.text).toContain(path);
    expect(page.text).not.toMatch(/<script|src=/);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
  });

  it('gives the document to programs', async () => {
    const world = await control();
    const answer = await world.call('GET', '/docs/openapi.json', { token: null });
    expect(answer.body).toEqual(JSON.parse(JSON.stringify(document)));
  });
});

describe('examples of request bodies', () => {
  const bodies = new Map(
    ROUTES.flatMap(({ operationId, body }) => (body === null ? [] : [[operationId, body] as const])),
  );

  it('are ones that their schemas take', () =>
    checkAll(Object.entries(EXAMPLES), ([operationId, example]) => {
      const schema = bodies.get(operationId);
      if (schema === undefined) return expect.unreachable();
      expect(schemaProblems(schema, example)).toEqual([]);
    }));

  it('are there for every query', () => {
    const queries = ROUTES.filter(({ tag, body }) => tag === 'Queries' && body !== null).map(
      ({ operationId }) => operationId,
    );
    expect(queries.filter((operationId) => EXAMPLES[operationId] === undefined)).toEqual([]);
  });

  it('of an answer are as its schema says', () => {
    const answers = ROUTES.flatMap(({ operationId, success: { schema } }) =>
      ((Reflect.get(schema, 'examples') as unknown[] | undefined) ?? []).map((example) => ({
        operationId,
        schema,
        example,
      })),
    );
    expect(answers.map(({ operationId }) => operationId)).toEqual(['getRefusals', 'getEvent']);
    for (const { schema, example } of answers) expect([...Value.Errors(schema, example)]).toEqual([]);
  });

  it('stand on the page', async () => {
    const { text } = await (await control()).call('GET', '/docs');
    expect(text).toContain('<h4>Example</h4>');
    expect(text).toContain('utm_campaign');
  });
});

import { describe, expect, it } from 'vitest';
import { controlAddress } from '#services/cli/local_folder.ts';

const READY = JSON.stringify({ control: 'http://local:1', adminTokenFile: '/data/admin.token' });
const readToken = (path: string): string => `token of ${path}\n`;

describe('where the command line finds the control service', () => {
  it('is what runs locally, with its token', () => {
    expect(controlAddress({ SVC_CONTROL_URL: '' }, READY, readToken)).toEqual({
      url: 'http://local:1',
      token: 'token of /data/admin.token',
    });
  });

  it('is what the environment names, with the token it names', () => {
    const env = { SVC_CONTROL_URL: 'https://control.example', SVC_ADMIN_TOKEN: 'mine' };
    expect(controlAddress(env, READY, readToken)).toEqual({ url: 'https://control.example', token: 'mine' });
    expect(controlAddress(env, null, readToken)).toEqual({ url: 'https://control.example', token: 'mine' });
  });

  it('never shows the local token to another service', () => {
    expect(() => controlAddress({ SVC_CONTROL_URL: 'https://control.example' }, READY, readToken)).toThrow(
      expect.objectContaining({ code: 'token_missing' }),
    );
  });

  it.each([null, '{}', '{"control":["a"]}'])('is an error with a code when neither knows: %j', (ready) => {
    expect(() => controlAddress({}, ready, readToken)).toThrow(
      expect.objectContaining({ code: 'not_running', message: expect.stringContaining('SVC_CONTROL_URL') }),
    );
  });
});

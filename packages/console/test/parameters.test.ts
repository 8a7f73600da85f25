import { describe, expect, it } from 'vitest';
import { faultsOf, parametersBody, parametersOf, parameterWords, startValues } from '../src/runbooks/parameters.js';

const PARAMETERS = parametersOf({
  parameters: {
    service: { type: 'choice', choices: ['nginx', 'php-fpm'], default: 'nginx' },
    tries: { type: 'number', min: 1, max: 5, whole: true },
    note: { type: 'string', required: false },
    token: { type: 'secret' },
  },
});
const filled = { service: 'nginx', tries: '2', note: '', token: 'correct-horse' };

describe('parameters of a runbook', () => {
  it('begin with their defaults, and are required unless they have one or say so', () => {
    expect(startValues(PARAMETERS)).toEqual({ service: 'nginx', tries: '', note: '', token: '' });
    expect([...faultsOf(PARAMETERS, startValues(PARAMETERS)).keys()]).toEqual(['tries', 'token']);
  });

  it.each([
    ['tries', '0', 'It must be at least 1.'],
    ['tries', '6', 'It must be at most 5.'],
    ['tries', '1.5', 'It must be a whole number.'],
    ['tries', 'two', 'It must be a number.'],
    ['service', 'apache', 'It is none of the choices.'],
  ])('%s is not %j', (name, value, fault) => {
    expect(faultsOf(PARAMETERS, { ...filled, [name]: value })).toEqual(new Map([[name, fault]]));
  });

  it('are sent by their types, without what was left out', () => {
    expect(faultsOf(PARAMETERS, filled).size).toBe(0);
    expect(parametersBody(PARAMETERS, filled)).toEqual({ service: 'nginx', tries: 2, token: 'correct-horse' });
  });

  it('are shown as the command line takes them, and secrets never', () => {
    const words = parameterWords(PARAMETERS, filled);
    expect(words).toEqual(['--param', 'service=nginx', '--param', 'tries=2', '--param-file', 'token=token.txt']);
  });

  it('of a definition without any are none', () => {
    expect(parametersOf({ command: 'uptime' })).toEqual([]);
  });
});

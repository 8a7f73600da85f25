import { expect, it } from 'vitest';
import { placesIn } from '../src/runbooks/places.js';
import { openOptions, programTexts } from '../src/runbooks/program-text.js';

/** Which words with a parameter would be run. */
const refused = (words: readonly string[]) =>
  programTexts(words).filter((index) => placesIn(words[index] ?? '').length > 0);

it.each([
  [['env', '-S', 'sh -c {{x}}'], [2]],
  [['env', '-iS', 'sh -c', '{{x}}'], [3]],
  [['/usr/bin/env', '-Ssh -c {{x}}'], [1]],
  [['env', '--split-string=echo {{x}}'], [1]],
  [['awk', '{{x}}'], [1]],
  [['sudo', 'gawk', '-F', ':', '-v', 'a={{y}}', '{{x}}', '{{file}}'], [6]],
  [['mawk', '-f', '{{x}}', '{{file}}'], [2]],
  [['gawk', '--source={{x}}'], [1]],
  [['sed', '-n', 's/a/{{x}}/', '{{file}}'], [2]],
  [['sed', '-e', 'p', '-ne', '{{x}}', '{{file}}'], [4]],
  [['sed', '--expression={{x}}'], [1]],
  [['sh', '-c', '$1', 'sh', '{{x}}'], [4]],
  [['sh', '-c', 'exec "$@"', 'sh', '{{x}}'], [4]],
  [['bash', '-c', '${*}', '{{x}}'], [3]],
  [['sh', '-c', ' eval "$2"', 'sh', 'a', '{{x}}'], [5]],
  [['bash', '-ce', '{{x}}'], [2]],
  [['bash', '-c', '-o', 'pipefail', '{{x}}'], [4]],
  [['su', '--command={{x}}'], [1]],
  [['python3', '-c{{x}}'], [1]],
  [['perl', '-e', '1', '-e', '{{x}}'], [4]],
  [['node', '--eval={{x}}'], [1]],
])('%j runs what is given', (words, indices) => expect(refused(words)).toEqual(indices));

it.each([
  [['sh', '-c', 'echo "$1"', 'sh', '{{x}}']],
  [['bash', 'deploy.sh', '-config', '{{x}}']],
  [['awk', '-v', 'x={{x}}', '{ print x }', '{{file}}']],
  [['sed', '-i', 's/a/b/', '{{file}}']],
  [['sed', '-f', 'known.sed', '{{file}}']],
  [['env', 'A={{x}}', 'echo', '{{x}}']],
  [['env', '-S', 'echo -n', '{{x}}']],
])('%j takes what is given as data', (words) => expect(refused(words)).toEqual([]));

it.each([
  [['bash', '-{{x}}', '{{y}}'], [1]],
  [['sudo', '/bin/sh', '-e{{x}}', '{{y}}'], [2]],
  [['bash', '-o', 'pipefail', '+{{x}}', '{{y}}'], [3]],
  [['bash', '--{{x}}', 'rc'], [1]],
  [['su', 'www', '-{{x}}', '{{y}}'], [2]],
  [['env', '-S', 'bash -{{x}}', '{{y}}'], [2]],
  [['python3', '-{{x}}', '{{y}}'], [1]],
  [['env', '-{{x}}', '{{y}}'], [1]],
])('%j has an option of which the next word may be run', (words, indices) =>
  expect(openOptions(words)).toEqual(indices),
);

it.each([
  [['bash', 'deploy.sh', '-{{x}}', '{{y}}']],
  [['sh', '-c', 'echo "$1"', 'sh', '-{{x}}']],
  [['perl', '-I{{dir}}', 'x.pl']],
  [['node', '--max-old-space-size={{n}}', 'x.js']],
  [['python3', 'x.py', '--{{x}}']],
  [['su', '--shell={{x}}', 'www', '-c', 'true']],
  [['tar', '-{{x}}', '{{y}}']],
])('%j has none', (words) => expect(openOptions(words)).toEqual([]));

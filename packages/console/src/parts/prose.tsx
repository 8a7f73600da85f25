import { safeText } from './safe-text.js';
import { Ago, At } from './time.jsx';
import { piecesOf } from './when.js';

/** A sentence of the server; what stands between backticks is a command or a name, and its times are told as all are. */
export function Prose({ text }: { readonly text: string }) {
  return (
    <>
      {text.split('`').map((part, index) =>
        index % 2 === 0 ? (
          piecesOf(part).map((piece) =>
            typeof piece === 'string' ? (
              safeText(piece)
            ) : (
              <>
                <At at={piece.at} />
                {piece.aged && (
                  <>
                    {' ('}
                    <Ago at={piece.at} word=" ago" />)
                  </>
                )}
              </>
            ),
          )
        ) : (
          <code key={index}>{safeText(part)}</code>
        ),
      )}
    </>
  );
}

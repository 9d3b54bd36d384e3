/** A link that carries the program: it stands after the `#`, which browsers send to nobody. */

async function through(stream: CompressionStream | DecompressionStream, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function fragmentOf(text: string): Promise<string> {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `#program=${letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The program of a fragment; undefined where it has none that can be read. */
export async function programOf(fragment: string): Promise<string | undefined> {
  const letters = /^#program=([\w-]+)$/.exec(fragment)?.[1];
  if (letters === undefined) return undefined;
  try {
    const packed = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), packed));
  } catch {
    return undefined;
  }
}

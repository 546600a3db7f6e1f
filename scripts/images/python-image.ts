/**
 * A stand-in for the public image python:3.11-slim-bookworm, made from Debian's packages, so that an
 * ordinary Dockerfile builds on a host that reaches no image registry. Where the image is present, as
 * after a pull, nothing is done.
 *
 * mmdebstrap with a fixed SOURCE_DATE_EPOCH gives the same bytes for the same package versions.
 */
import { spawn } from "node:child_process";
import { execa } from "execa";

const PYTHON_IMAGE = "python:3.11-slim-bookworm";

const PACKAGES = ["ca-certificates", "python3", "python3-pip", "python3-venv"];
const HOST_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const SOURCE_DATE_EPOCH = "1704067200";

/** Makes sure that the Python base image exists. Building it takes root on Debian or a relative of it. */
export async function ensurePythonImage(say: (line: string) => void): Promise<{ image: string }> {
  const found = await execa("docker", ["image", "inspect", PYTHON_IMAGE], { reject: false });
  if (found.exitCode === 0) return { image: PYTHON_IMAGE };

  await ensureMmdebstrap(say);
  say(`building ${PYTHON_IMAGE} from Debian's packages`);
  await importRootFileSystem();
  return { image: PYTHON_IMAGE };
}

async function ensureMmdebstrap(say: (line: string) => void): Promise<void> {
  const found = await execa("mmdebstrap", ["--version"], { reject: false });
  if (found.exitCode === 0) return;

  const isDebian = (await execa("apt-get", ["--version"], { reject: false })).exitCode === 0;
  if (!isDebian || process.getuid?.() !== 0) {
    throw new Error(
      `${PYTHON_IMAGE} is missing. Run \`docker pull ${PYTHON_IMAGE}\`; where no registry can be reached, ` +
        `run this as root on Debian, and it is made from Debian's packages.`,
    );
  }
  say("installing mmdebstrap");
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const packages = ["mmdebstrap", "debian-archive-keyring"];
  await execa("apt-get", ["update", "--quiet"], { env });
  await execa("apt-get", ["install", "--yes", "--quiet", "--no-install-recommends", ...packages], { env });
}

/** Pipes mmdebstrap's tar into docker import; both must succeed. */
async function importRootFileSystem(): Promise<void> {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const env = { ...process.env, SOURCE_DATE_EPOCH };
  const bootstrap = spawn("mmdebstrap", bootstrapArguments(), { stdio: [...stdio], env });
  const bootstrapped = new Promise<void>((resolve, reject) => {
    bootstrap.on("error", reject);
    bootstrap.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`mmdebstrap ended with code ${code}`)),
    );
  });
  const settings = ["ENV LANG=C.UTF-8", 'CMD ["python3"]', "LABEL edgerun.base=debian-bookworm"];
  const changes = settings.flatMap((setting) => ["--change", setting]);
  const unfinished = `${PYTHON_IMAGE}-unfinished-${process.pid}`;
  const imported = execa("docker", ["import", ...changes, "-", unfinished], {
    input: bootstrap.stdout,
  });
  await Promise.all([bootstrapped, imported]);
  // Only a complete file system gets the name that Dockerfiles use.
  await execa("docker", ["tag", unfinished, PYTHON_IMAGE]);
  await execa("docker", ["rmi", unfinished]);
}

function bootstrapArguments(): string[] {
  return [
    "--quiet",
    "--variant=minbase",
    `--include=${PACKAGES.join(",")}`,
    // Afterwards, for a path that dpkg excludes makes mmdebstrap start a Python for each package.
    "--customize-hook=rm -r $1/usr/share/man/* $1/usr/share/locale/*",
    "--customize-hook=find $1/usr/share/doc -type f ! -name copyright -delete",
    // Like the public image: `python` exists, and pip may install for all.
    "--customize-hook=ln -s python3 $1/usr/bin/python",
    "--customize-hook=rm $1/usr/lib/python3.11/EXTERNALLY-MANAGED",
    // The image trusts what the host trusts, so that pip works behind a proxy with its own certificate.
    `--customize-hook=copy-in ${HOST_CERTIFICATES} /etc/ssl/certs/`,
    "bookworm",
    "-",
  ];
}

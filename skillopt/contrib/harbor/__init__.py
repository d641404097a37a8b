"""Task folders of Harbor and Terminal-Bench: their files, images, containers and oracles."""
